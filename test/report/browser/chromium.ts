import { execFileSync } from 'node:child_process';
import puppeteer, { type Browser } from 'puppeteer-core';

const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

/** A headless Chromium of this machine. It is never skipped: without one the suite fails, and says what to do. */
export function launchChromium(): Promise<Browser> {
  // Chromium's own sandbox does not start for root.
  const isRoot = process.getuid?.() === 0;
  return puppeteer.launch({
    executablePath: chromiumPath(),
    args: ['--disable-dev-shm-usage', ...(isRoot ? ['--no-sandbox'] : [])],
  });
}

function chromiumPath(): string {
  const asked = process.env.CHROMIUM_PATH;
  if (asked) return asked;
  for (const name of names) {
    try {
      return execFileSync('which', [name], { encoding: 'utf8' }).trim();
    } catch {
      // The next one.
    }
  }
  throw new Error(
    'this suite looks at the report in a real browser, and there is none: install one (on Debian: apt-get install chromium), or name it in CHROMIUM_PATH',
  );
}
