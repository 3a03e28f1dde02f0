import { asset, renderScript } from '#report/page/assets.ts';

/** A file of the page. */
export interface PageFile {
  readonly type: string;
  readonly text: string;
}

/** The page's own files by path. Everything about studies comes through the stream of events. */
export const pageFiles = (): ReadonlyMap<string, PageFile> =>
  new Map([
    ['/', { type: 'text/html; charset=utf-8', text: asset('watch.html') }],
    ['/watch.css', { type: 'text/css; charset=utf-8', text: `${asset('page.css')}\n${asset('watch.css')}` }],
    ['/watch.js', { type: 'text/javascript; charset=utf-8', text: renderScript(scriptParts, ['followStudies']) }],
  ]);

const scriptParts = [
  ...['common.js', 'watch-asking.js', 'watch-narrowing.js', 'watch-tables.js', 'watch-trials.js', 'watch-chart.js'],
  ...['watch-steering.js', 'watch-study.js', 'watch.js'],
];

/**
 * Allows only the page's own files and its stream, and no script inside any text. Charts have style
 * attributes, which load and run nothing under this policy.
 */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};
