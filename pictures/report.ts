import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launchChromium } from '../test/report/browser/chromium.ts';

/**
 * The part of the page that a reader sees first, in CSS pixels; files have 1.5 times as many, for
 * sharp letters.
 */
const firstScreen = { width: 1000, height: 960, deviceScaleFactor: 1.5 };

/** Takes the first screen of a study's report as `report-light.png` and `report-dark.png`. */
export async function photographReport(study: string, directory: string): Promise<void> {
  const browser = await launchChromium();
  try {
    const page = await browser.newPage();
    await page.setViewport(firstScreen);
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.goto(pathToFileURL(join(study, 'report.html')).href);
      await page.screenshot({ path: join(directory, `report-${scheme}.png`) as `${string}.png` });
    }
  } finally {
    await browser.close();
  }
}
