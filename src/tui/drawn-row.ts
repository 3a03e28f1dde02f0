import { Text } from 'ink';
import { createElement, type ReactElement } from 'react';
import { inertLine } from '../base/format.ts';
import { lookOf } from './colours.ts';
import type { Row } from './rows.ts';

/**
 * A row as Ink draws it. The panels have made foreign text fit for the screen; what one of them forgot cannot move the
 * terminal's cursor all the same.
 */
export function drawnRow(line: Row, hasColours: boolean, key?: number): ReactElement {
  const spans = line.map(({ text, tone }, index) =>
    createElement(Text, { key: index, ...lookOf(tone, hasColours) }, inertLine(text)),
  );
  return createElement(Text, { key, wrap: 'truncate' }, ...spans);
}
