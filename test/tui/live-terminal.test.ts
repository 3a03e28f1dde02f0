import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, seriesProfile } from '../support/emulator.ts';
import { othersSend } from '../support/other-sender.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { sitDown } from './pseudo-terminal.ts';

describe('explain --ui tui', { timeout: 120_000 }, () => {
  it('keeps looking until it is left, and then prints and writes what was seen', async () => {
    const emulator = await emulatorForTest({ profile: seriesProfile('busy', 'idle') });
    await othersSend('grpc', emulator.grpcUrl, 'busy', 5);
    const file = join(await freshDirectory(), 'explain.json');
    const args = ['explain', '--ui', 'tui', '-u', emulator.grpcUrl, '-i', 'grpc', '--json', file];
    const at = sitDown(args, { columns: 120, rows: 30 });
    onTestFinished(() => at.leave());
    await at.until(/› busy +[1-9]/);
    expect(at.isAlternate()).toBe(true);
    await at.until(/ceiling +[\d,]+ requests\/s/);
    at.press('\u001b[B');
    await at.until(/› idle +0/);
    await at.until(/no request yet/);
    at.press('p');
    await at.until(/─ paused ─/);
    at.press('p');
    await at.until(/looking for/);
    at.press('q');
    expect(await at.ended).toBe(0);
    expect(at.isAlternate()).toBe(false);
    expect(at.written()).toMatch(/busy: [\d.]+ requests\/s in [\d.]+ m?s/);
    expect(existsSync(file)).toBe(true);
  });

  it('gives the terminal back at a signal, and explains', async () => {
    const emulator = await emulatorForTest({ profile: seriesProfile('busy', 'idle') });
    await othersSend('grpc', emulator.grpcUrl, 'busy', 5);
    const at = sitDown(['explain', '--ui', 'tui', '-u', emulator.grpcUrl, '-i', 'grpc']);
    onTestFinished(() => at.leave());
    await at.until(/› busy +[1-9]/);
    at.signal(15);
    await at.ended;
    expect(at.isAlternate()).toBe(false);
    expect(at.written()).toMatch(/busy: [\d.]+ requests\/s in [\d.]+ m?s/);
  });

  it('needs a terminal, and a server to look at', async () => {
    expect((await callCli(['explain', '--ui', 'tui', '-u', '127.0.0.1:1', '-i', 'grpc'])).stderr).toContain(
      'needs a terminal',
    );
    expect((await callCli(['explain', '--ui', 'tui', '--from', 'x'])).stderr).toContain('--from has no use');
  });
});
