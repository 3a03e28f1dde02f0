import type { ServerResponse } from 'node:http';
import { sendJson } from '../http/reply.ts';
import { type ProtocolFailure, toHttpStatus } from '../wire/protocol-failure.ts';

/** A refusal of an OpenAI endpoint, in vLLM's form. */
export class OpenAiFailure extends Error {
  readonly status: number;
  readonly type: string;
  readonly param: string | null;

  constructor(status: number, type: string, message: string, param: string | null = null) {
    super(message);
    this.status = status;
    this.type = type;
    this.param = param;
  }
}

/** Returns a failure of the emulator's own as one of OpenAI's. */
export function toOpenAiFailure(failure: ProtocolFailure): OpenAiFailure {
  const status = toHttpStatus(failure);
  const type = status === 404 ? 'NotFoundError' : status < 500 ? 'BadRequestError' : 'InternalServerError';
  return new OpenAiFailure(status, type, failure.message);
}

const failureJson = ({ message, type, param, status }: OpenAiFailure) => ({
  error: { message, type, param, code: status },
});

export const sendOpenAiFailure = (response: ServerResponse, failure: OpenAiFailure): void =>
  sendJson(response, failure.status, failureJson(failure));
