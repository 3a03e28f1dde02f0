// What the parts of the page's script share. All text goes in as text, never as markup; nothing is loaded.

const svgNames = 'http://www.w3.org/2000/svg';

const byId = (id) => document.getElementById(id);

/** Creates an element with attributes and children; strings become text. */
function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function draw(parent, name, attributes, text) {
  const element = document.createElementNS(svgNames, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

/** Three digits, or whole numbers with separators: as everywhere on the page. */
function figure(value) {
  if (!Number.isFinite(value)) return '–';
  return Math.abs(value) >= 999.5 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(3)));
}
