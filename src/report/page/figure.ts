import { type Chart, narrowPaper, type Paper, widePaper } from '../charts/svg.ts';
import { type Html, html, none, Html as SafeHtml } from '../html.ts';

/**
 * Returns a chart for wide pages and one for narrow ones; the page shows the one that fits. `title`
 * says what to see in it, `caption` how to read it.
 */
export function figure(
  chart: Chart | undefined,
  name: string,
  title: string,
  caption: Html,
  [wide, narrow]: readonly [wide: Paper, narrow: Paper] = [widePaper, narrowPaper],
): Html {
  if (!chart) return none;
  return html`<figure id="${name}">
<h3>${title}</h3>
<div class="wide">${new SafeHtml(chart(wide))}</div><div class="narrow">${new SafeHtml(chart(narrow))}</div>
${caption === none ? none : html`<figcaption>${caption}</figcaption>`}</figure>`;
}
