import { type Html, html } from '../html.ts';

/** A figure that a reader needs first: its name, its value, and what belongs to it. */
export interface Card {
  readonly name: string;
  readonly value: string;
  readonly notes: readonly string[];
  readonly tone: 'plain' | 'good' | 'bad' | 'unsure';
}

/** Returns the cards side by side, or one below the other on a narrow page. */
export const cardsHtml = (cards: readonly Card[]): Html =>
  html`<div class="figures">${cards.map(
    ({ name, value, notes, tone }) =>
      html`<div class="card-figure ${tone}"><p class="name">${name}</p><p class="value">${value}</p>${notes.map((note) => html`<p class="soft">${note}</p>`)}</div>`,
  )}</div>`;
