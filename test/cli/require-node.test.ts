import { describe, expect, it } from 'vitest';
import { exitCodes } from '#app/exit-codes.ts';
import { toFailure } from '#cli/failure.ts';
import { requireNode } from '#cli/require-node.ts';

/** What the user reads on such a Node, null where it runs. */
function refusal(version: string): string | null {
  try {
    requireNode(version);
    return null;
  } catch (error) {
    const { line, exitCode } = toFailure(error, false);
    expect(exitCode).toBe(exitCodes.usage);
    return line;
  }
}

describe('the Node it runs on', () => {
  it.each(['20.20.2', '22.0.9', '9.0.0'])('refuses %s in one line', (version) => {
    expect(refusal(version)).toMatch(
      new RegExp(`^tritune: UNSUPPORTED: tritune needs Node 22.1 or newer, and this is Node ${version} \\(`),
    );
  });

  it.each(['22.1.0', '22.10.0', '24.21.0', '100.0.0'])('takes %s', (version) => {
    expect(refusal(version)).toBeNull();
  });
});
