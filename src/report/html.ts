import { inertJson, inertText } from '#base/format.ts';

/** HTML that is safe to insert: made by `html` or by one of our renderers, never a bare string. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Part = string | number | Html | readonly Html[];

export const none = new Html('');

/**
 * Returns HTML from a template. Escapes every plain value, so that no model name or server message
 * can become markup.
 */
export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(
    strings.map((text, index) => text + (index < parts.length ? rendered(parts[index] as Part) : '')).join(''),
  );
}

/**
 * Returns JSON that a script of the page reads by its id. Escapes each `<` in a string, so that
 * none can end the block or begin a comment in it.
 */
export function jsonBlock(id: string, value: object): Html {
  const text = inertJson(JSON.stringify(value)).replaceAll('<', '\\u003c');
  return html`<script type="application/json" id="${id}">${new Html(text)}</script>`;
}

function rendered(part: Part): string {
  if (part instanceof Html) return part.text;
  if (Array.isArray(part)) return (part as readonly Html[]).map((each) => each.text).join('');
  return escapeHtml(String(part));
}

/**
 * Escapes every character that is special in markup, and removes control characters and direction
 * marks.
 */
export const escapeHtml = (text: string): string =>
  inertText(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
