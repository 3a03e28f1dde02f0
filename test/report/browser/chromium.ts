import { execFileSync } from 'node:child_process';
import puppeteer, { type Browser, type Page } from 'puppeteer-core';

const names = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

/**
 * A headless Chromium of this machine. It is never skipped: without one the suite fails, and says
 * what to do.
 */
export function launchChromium(): Promise<Browser> {
  // Chromium's own sandbox does not start for root.
  const isRoot = process.getuid?.() === 0;
  return puppeteer.launch({
    executablePath: chromiumPath(),
    args: ['--disable-dev-shm-usage', ...(isRoot ? ['--no-sandbox'] : [])],
  });
}

/**
 * Opens an empty page. `complaints` gets what it asks of other addresses than those that begin with
 * `own`, and what goes wrong in it.
 */
export async function openPage(
  browser: Browser,
  own: 'file:' | 'http://127.0.0.1:',
): Promise<{ readonly page: Page; readonly complaints: string[] }> {
  const page = await browser.newPage();
  const complaints: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(own)) complaints.push(`asked for ${request.url()}`);
  });
  page.on('console', (message) => complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error)));
  return { page, complaints };
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
