import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Html, html } from '../html.ts';

/** The package's `report-page/` folder: three levels up from `src/report/page` and from `dist/report/page` alike. */
export const asset = (name: string): string =>
  readFileSync(new URL(`../../../report-page/${name}`, import.meta.url), 'utf8');

/** Parts of a script, one after the other in a scope of their own, and the functions that it calls at its end. */
export const scriptOf = (parts: readonly string[], calls: readonly string[]): string =>
  `(() => {\n'use strict';\n${parts.map(asset).join('\n')}\n${calls.map((name) => `${name}();`).join('\n')}\n})();`;

const scriptText = (): string =>
  scriptOf(
    ['common.js', 'points.js', 'what-if.js', 'what-if-words.js', 'what-if-chart.js', 'cost.js'],
    ['followPoints', 'followWhatIf', 'followCost'],
  );

/** Style, and a policy under which a browser loads nothing and runs only the page's own script, whatever is in the page. */
export function headAssets(): Html {
  const hash = createHash('sha256').update(scriptText()).digest('base64');
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  return html`<meta http-equiv="Content-Security-Policy" content="${new Html(policy)}">
<style>${new Html(asset('page.css'))}</style>`;
}

/** The script that makes points and predictions answer; the page can be read without it. */
export const pageScript = (): Html => new Html(`<script>${scriptText()}</script>`);
