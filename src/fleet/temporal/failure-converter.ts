import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Sends messages and stacks of errors through the codec, too. Temporal's SDK loads this file by its
 * path.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
