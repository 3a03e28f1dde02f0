import { type Chart, narrowPaper, widePaper } from '../charts/svg.ts';
import { type Html, html, none, Html as SafeHtml } from '../html.ts';

/** A chart for wide pages and one for narrow ones, of which the page shows the one that fits, and words under it. */
export function figure(chart: Chart | undefined, name: string, caption: Html): Html {
  if (!chart) return none;
  return html`<figure id="${name}">
<div class="wide">${new SafeHtml(chart(widePaper))}</div><div class="narrow">${new SafeHtml(chart(narrowPaper))}</div>
<figcaption>${caption}</figcaption></figure>`;
}
