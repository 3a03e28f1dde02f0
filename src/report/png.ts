import { formatMessage, TrituneError } from '#base/errors.ts';

/** Draws SVG texts as PNG images. */
export type PngRenderer = (svg: string) => Uint8Array;

/** The zoom factor from the SVG to pixels, so that letters are sharp on any screen. */
const ZOOM = 2;
const font = { loadSystemFonts: true, defaultFontFamily: 'DejaVu Sans' };

/**
 * Errors: UNSUPPORTED if the library has no build for this machine, or if there is no font, because
 * all text would be missing.
 */
export async function pngRenderer(): Promise<PngRenderer> {
  const { Resvg } = await import('@resvg/resvg-js').catch((error: unknown) => {
    throw new TrituneError('UNSUPPORTED', `cannot write PNG files: ${formatMessage(error)}`, 'use the SVG files', {
      cause: error,
    });
  });
  const word = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text y="9">a</text></svg>';
  if (!new Resvg(word, { font }).getBBox()) {
    throw new TrituneError(
      'UNSUPPORTED',
      'cannot write PNG files: this machine has no fonts',
      'install a font such as fonts-dejavu-core, or use the SVG files',
    );
  }
  return (svg) => new Resvg(svg, { font, fitTo: { mode: 'zoom', value: ZOOM } }).render().asPng();
}
