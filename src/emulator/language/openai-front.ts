import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { realClock } from '#base/clock.ts';
import { MS_PER_S } from '#base/units.ts';
import { sendJson } from '../http/reply.ts';
import type { ServerContext } from '../server-context.ts';
import { breakConnection } from '../wire/broken-connection.ts';
import { type InferOutcome, throughFaults } from '../wire/infer.ts';
import { asProtocolFailure } from '../wire/protocol-failure.ts';
import { modelOwner } from '../wire/server-identity.ts';
import { engineMetrics } from './engine-metrics.ts';
import { LanguageVersion } from './language-version.ts';
import { OpenAiFailure, sendOpenAiFailure, toOpenAiFailure } from './openai-failure.ts';
import { AnswerStream, type OpenAiKind, sendAnswer, sendTexts } from './openai-reply.ts';
import { type OpenAiRequest, readChat, readCompletion, readTexts, type TextsKind } from './openai-request.ts';

/**
 * Answers the requests of an OpenAI-compatible server for the emulator's language models, including
 * vLLM's health and metrics. False for any other path, and without a language model.
 */
export function answersOpenAi(
  context: ServerContext,
  path: string,
  body: Buffer,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const route = routes[`${request.method} ${path}`];
  if (!route || !context.repository.hasLanguageModels) return false;
  try {
    route(context, body, response);
  } catch (error) {
    const failure = error instanceof OpenAiFailure ? error : toOpenAiFailure(asProtocolFailure(error));
    sendOpenAiFailure(response, failure);
  }
  return true;
}

type Route = (context: ServerContext, body: Buffer, response: ServerResponse) => void;

const routes: Readonly<Record<string, Route>> = {
  'GET /health': (context, _, response) => {
    response.writeHead(context.repository.isReady ? 200 : 503, { 'content-length': 0 }).end();
  },
  'GET /metrics': (context, _, response) => {
    const engines = servedBy(context).map(({ model, engine }) => ({ model, engine }));
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(engineMetrics(engines));
  },
  'GET /v1/models': (context, _, response) => {
    const data = servedBy(context).map(({ model, mostTokens }) => ({
      id: model,
      object: 'model',
      created: 0,
      owned_by: modelOwner(context.identity),
      max_model_len: mostTokens,
    }));
    sendJson(response, 200, { object: 'list', data });
  },
  'POST /v1/chat/completions': (context, body, response) => generate(context, 'chat', readChat(body), response),
  'POST /v1/completions': (context, body, response) => generate(context, 'completion', readCompletion(body), response),
  'POST /v1/embeddings': (context, body, response) => answerTexts(context, 'embeddings', body, response),
  'POST /v1/rerank': (context, body, response) => answerTexts(context, 'rerank', body, response),
  'POST /v1/classify': (context, body, response) => answerTexts(context, 'classify', body, response),
};

const servedBy = ({ repository }: ServerContext): readonly LanguageVersion[] =>
  repository.models.flatMap(({ serving }) => (serving instanceof LanguageVersion ? serving : []));

/** Each text takes as long as a prompt with one token for an answer. */
function answerTexts(context: ServerContext, kind: TextsKind, body: Buffer, response: ServerResponse): void {
  const { model, texts } = readTexts(kind, body);
  const version = toVersion(context, model);
  withFaults(context, version, response, () => {
    let left = texts.length;
    const wish = { maxTokens: 1, minTokens: 1, ignoresEnd: true, stops: [] };
    const end = (): void => {
      left -= 1;
      const promptTokens = answers.reduce((sum, each) => sum + each.promptTokens, 0);
      if (left === 0) sendTexts(response, kind, { model: version.model, texts: texts.length, promptTokens });
    };
    const answers = texts.map((text) => version.generate({ texts: [text], ...wish }, { token: () => undefined, end }));
    response.on('close', () => {
      for (const { submitted } of answers) submitted.cancel();
    });
  });
}

function generate(context: ServerContext, kind: OpenAiKind, request: OpenAiRequest, response: ServerResponse): void {
  const version = toVersion(context, request.model);
  withFaults(context, version, response, () =>
    answer(version, kind, request, response, context.faults.cutAnswerAfter?.({ model: version.model }) ?? null),
  );
}

/** Runs a call as the faults of the emulator allow. */
function withFaults(
  context: ServerContext,
  { model }: LanguageVersion,
  response: ServerResponse,
  work: () => void,
): void {
  const call = { model };
  const fail = (failure: OpenAiFailure): void => sendOpenAiFailure(response, failure);
  const run = (): void => {
    try {
      work();
    } catch (error) {
      fail(toOpenAiFailure(asProtocolFailure(error)));
    }
  };
  const done = (outcome: InferOutcome): void => {
    if (outcome.kind === 'failed') fail(toOpenAiFailure(outcome.failure));
    else if (outcome.kind === 'disturbed' && outcome.how !== 'hang' && response.socket)
      breakConnection(response.socket, outcome.how);
  };
  throughFaults(context, call, { done }, run);
}

function toVersion(context: ServerContext, model: string | undefined): LanguageVersion {
  const served = servedBy(context);
  const version = model === undefined ? served[0] : served.find((each) => each.model === model);
  if (version) return version;
  throw new OpenAiFailure(404, 'NotFoundError', `The model \`${model}\` does not exist.`, 'model');
}

/** `cutAfter`: tokens after which the connection is cut; null for none. */
function answer(
  version: LanguageVersion,
  kind: OpenAiKind,
  request: OpenAiRequest,
  response: ServerResponse,
  cutAfter: number | null,
): void {
  const id = `${kind === 'chat' ? 'chatcmpl' : 'cmpl'}-${randomUUID()}`;
  const head = { kind, id, model: version.model, created: Math.floor(realClock.wallMs() / MS_PER_S) };
  const stream = request.isStream ? new AnswerStream(response, head) : null;
  const answered = version.generate(request, {
    token: (text, index) => {
      const isLast = index + 1 === answered.outputTokens;
      stream?.token(text, index === 0, isLast ? answered.finish : null);
      if (index + 1 !== cutAfter) return;
      answered.submitted.cancel();
      // Flush the written data first.
      response.write('', () => response.socket?.destroy());
    },
    end: () => {
      if (stream) stream.end(request.includesUsage ? answered : null);
      else sendAnswer(response, head, answered);
    },
  });
  stream?.open();
  response.on('close', () => answered.submitted.cancel());
}
