import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { packagePath } from '#base/package.ts';
import { Html, html } from '../html.ts';

/** Returns the text of a file of the package's `report-page/` folder. */
export const asset = (name: string): string => readFileSync(packagePath(`report-page/${name}`), 'utf8');

/** Returns a script from its parts, in one scope, with calls of these functions at its end. */
export const renderScript = (parts: readonly string[], calls: readonly string[]): string =>
  `(() => {\n'use strict';\n${parts.map(asset).join('\n')}\n${calls.map((name) => `${name}();`).join('\n')}\n})();`;

const scriptText = (): string =>
  renderScript(
    ['common.js', 'points.js', 'what-if.js', 'what-if-words.js', 'what-if-chart.js', 'cost.js'],
    ['followPoints', 'followWhatIf', 'followCost'],
  );

/**
 * Returns the style, and a policy under which a browser loads nothing and runs only the page's own
 * script, whatever the page contains.
 */
export function headAssets(): Html {
  const hash = createHash('sha256').update(scriptText()).digest('base64');
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`;
  return html`<meta http-equiv="Content-Security-Policy" content="${new Html(policy)}">
<style>${new Html(asset('page.css'))}</style>`;
}

/**
 * Returns the script that makes points and predictions interactive. The page is readable without
 * it.
 */
export const pageScript = (): Html => new Html(`<script>${scriptText()}</script>`);
