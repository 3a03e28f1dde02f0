import { messageOf } from '../../base/errors.ts';
import type { InferRequest, OutputTensor, ReplyCheck, SendOutcome } from '../types.ts';
import { failed, SENT } from './outcome.ts';

/** Returns the outcome of a good reply after its check. Reads nothing without a check. */
export function checkedReply(
  check: ReplyCheck | undefined,
  request: InferRequest,
  read: () => readonly OutputTensor[],
): SendOutcome {
  if (!check) return SENT;
  let outputs: readonly OutputTensor[];
  try {
    outputs = read();
  } catch (error) {
    return failed('malformed', `the reply cannot be read: ${messageOf(error)}`);
  }
  return check(request, outputs) ?? SENT;
}
