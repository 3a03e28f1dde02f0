import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Html, html } from '../html.ts';

/** The package's `report-page/` folder: three levels up from `src/report/page` and from `dist/report/page` alike. */
const asset = (name: string): string => readFileSync(new URL(`../../../report-page/${name}`, import.meta.url), 'utf8');

/** Style, and a policy under which a browser loads nothing and runs only the page's own script, whatever is in the page. */
export function headAssets(): Html {
  const hash = createHash('sha256').update(asset('page.js')).digest('base64');
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  return html`<meta http-equiv="Content-Security-Policy" content="${new Html(policy)}">
<style>${new Html(asset('page.css'))}</style>`;
}

/** The script that makes points and predictions answer; the page can be read without it. */
export const pageScript = (): Html => new Html(`<script>${asset('page.js')}</script>`);
