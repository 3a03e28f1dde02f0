import { describe, expect, it } from 'vitest';
import { commandAt, mouseActionsIn } from '#tui/mouse.ts';
import { span } from '#tui/rows.ts';

describe('the mouse', () => {
  it('is read from reports between keys, of which one may be cut', () => {
    const { actions, rest } = mouseActionsIn(
      'k\u001b[<0;20;15M\u001b[<0;20;15m\u001b[<65;1;1Mx\u001b[<64;3;4M\u001b[<0;2',
    );
    expect(actions).toEqual([
      { kind: 'click', column: 19, row: 14 },
      { kind: 'wheel', by: 1 },
      { kind: 'wheel', by: -1 },
    ]);
    expect(rest).toBe('\u001b[<0;2');
    expect(mouseActionsIn(`${rest};3M`).actions).toEqual([{ kind: 'click', column: 1, row: 2 }]);
  });

  it('ignores other buttons, and keys', () => {
    expect(mouseActionsIn('\u001b[<2;1;1M\u001b[A')).toEqual({ actions: [], rest: '' });
  });

  it('does what is under it, and nothing beside it', () => {
    const sort = { name: 'sort', step: 1 } as const;
    const frame = [[span('ab'), { ...span('cd'), click: sort }, span('e')], []];
    expect([0, 1, 2, 3, 4, 5].map((column) => commandAt(frame, column, 0))).toEqual([
      null,
      null,
      sort,
      sort,
      null,
      null,
    ]);
    expect(commandAt(frame, 0, 1)).toBeNull();
    expect(commandAt(frame, 0, 9)).toBeNull();
  });
});
