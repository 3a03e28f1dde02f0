import { describe, expect, it } from 'vitest';
import { lastWords } from '#launch/log-tail.ts';

const usage = `Usage: tritonserver [options]
  --help
\tPrint usage

Memory/Device Management:
  --cuda-memory-pool-byte-size <integer>
\tDefault is 64 MB.
`;

describe('the last words of a server', () => {
  it('are what it says of an option, before or after its usage', () => {
    expect(lastWords(`tritonserver: unrecognized option '--x'\n${usage}`)).toBe(
      "tritonserver: unrecognized option '--x'",
    );
    expect(lastWords(`${usage}\nBad option: "--x".\ninvalid argument\n`)).toBe('Bad option: "--x". | invalid argument');
  });

  it('are its errors, without what it says as it starts and ends', () => {
    const log = 'I1126 a\nE1126 broken\n+--+\n| x |\nW1126 b\nI1126 c\nSignal (15) received.\n';
    expect(lastWords(log)).toBe('E1126 broken');
  });

  it('are the last lines where there is nothing else', () => {
    expect(lastWords('I1126 a\nI1126 b\n')).toBe('I1126 a | I1126 b');
    expect(lastWords('')).toBe('');
  });
});
