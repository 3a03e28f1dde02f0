import { formatMessage } from '#base/errors.ts';
import type { OutputTensor, SendOutcome } from '../types.ts';
import { failed, SENT } from './outcome.ts';

/** Returns the outcome of a request with one good reply, with its outputs if replies are read. */
export function readReply(readsReplies: boolean | undefined, read: () => readonly OutputTensor[]): SendOutcome {
  if (!readsReplies) return SENT;
  try {
    return { ok: true, replies: [read()] };
  } catch (error) {
    return failed('malformed', `the reply cannot be read: ${formatMessage(error)}`);
  }
}
