import { writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openPage, type WatchSpec } from '#app/watch-page.ts';
import { newAuthority } from '../support/certificates.ts';
import { freshDirectory } from '../support/run-directory.ts';

const order = async (): Promise<void> => undefined;
const open = async (spec: Partial<WatchSpec>, orders: typeof order | null = order) => {
  const opened = await openPage({ listen: '127.0.0.1:0', plaintext: false, ...spec }, orders, () => undefined);
  onTestFinished(() => opened.page.close());
  return opened;
};
const canSteer = ({ board }: Awaited<ReturnType<typeof open>>): boolean => {
  const message = board.message('');
  return message?.event === 'board' && message.data.canSteer;
};

describe('the page of studies as it is started', () => {
  it('is for looking alone without a token, and takes none that could be guessed', async () => {
    const folder = await freshDirectory();
    const tokenFile = join(folder, 'token');
    expect(canSteer(await open({}))).toBe(false);
    for (const token of ['', 'short']) {
      await writeFile(tokenFile, `${token}\n`);
      await expect(open({ tokenFile })).rejects.toMatchObject({
        code: expect.stringMatching(/^(USAGE|INPUT_INVALID)$/),
      });
    }
    await writeFile(tokenFile, 'a-token-of-the-tests-only\n');
    expect(canSteer(await open({ tokenFile }))).toBe(true);
    expect(canSteer(await open({ tokenFile }, null))).toBe(false);
  });

  it('goes over a network with TLS, or where somebody says that nobody can listen in', async () => {
    await expect(open({ listen: '0.0.0.0:0' })).rejects.toMatchObject({ code: 'USAGE' });
    const { page } = await open({ listen: '0.0.0.0:0', plaintext: true });
    expect(page.url).toMatch(/^http:\/\/0\.0\.0\.0:\d+\/$/);
  });

  it('speaks TLS with the certificate that it was given, and with browsers that have one of its CA', async () => {
    const folder = await freshDirectory();
    const authority = await newAuthority();
    const write = async (name: string, text: string): Promise<string> => {
      await writeFile(join(folder, name), text);
      return join(folder, name);
    };
    const own = await authority.serverFor(['localhost', '127.0.0.1']);
    const tlsCert = await write('tls.crt', own.cert);
    const tlsKey = await write('tls.key', own.key);
    const statusOf = (url: string, client: object = {}): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const asked = request(`${url}health`, { ca: authority.cert, ...client }, (reply) => {
          reply.resume();
          resolve(reply.statusCode);
        });
        asked.on('error', reject).end();
      });
    const { page } = await open({ tlsCert, tlsKey });
    expect(page.url).toMatch(/^https:/);
    expect(await statusOf(page.url)).toBe(200);
    const strict = await open({ tlsCert, tlsKey, tlsCa: await write('ca.crt', authority.cert) });
    await expect(statusOf(strict.page.url)).rejects.toThrow();
    expect(await statusOf(strict.page.url, await authority.client())).toBe(200);
  });
});
