import { dirname } from 'node:path';
import { formatCommandLine } from '#base/command-name.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import { isTextEndpoint } from '#spec/language-spec.ts';
import { toRequestKind } from '#spec/request-kind.ts';
import type { StudyStarted } from '#study/records/records.ts';
import { httpWords, launchWords, promptWords, requestWords, secretWords, textWords } from './spec-words.ts';

/** The port at which the `launch.sh` of an engine listens by default. */
const ENGINE_URL = 'localhost:8000';

/** Returns the words that name the server of the requests; null if a profile cannot reach it. */
function serverWords({ spec, server: { url } }: StudyStarted): readonly string[] | null {
  const { server, http } = spec;
  if (http) {
    const address = server.launchCommand === undefined ? url : ENGINE_URL;
    return ['--service-kind', 'http', '-u', `http://${address}${http.path ?? '/'}`, ...secretWords(server)];
  }
  if (server.launchCommand !== undefined) return ['--endpoint', server.endpoint ?? 'openai', '-u', ENGINE_URL];
  if (server.endpoint !== undefined) {
    // A language model of a server that is gone with the run: profile starts none for it.
    return server.launch === undefined ? ['--endpoint', server.endpoint, '-u', url, ...secretWords(server)] : null;
  }
  const where = server.launch === undefined ? ['-u', server.url ?? url] : launchWords(server);
  return [...where, '-i', server.protocol, ...secretWords(server)];
}

/**
 * Returns three levels up to the given one, from which the gate learns how much they differ; fewer
 * below 3.
 */
function levelWords({ spec }: StudyStarted, load: LoadLevel): readonly string[] {
  const { workloads } = spec;
  if (workloads?.files[0] !== undefined) {
    const scale = workloads.timeScale === undefined ? [] : ['--time-scale', String(workloads.timeScale)];
    return ['--workload', workloads.files[0], ...scale];
  }
  const top = Math.max(1, Math.round(load.value));
  const step = Math.max(1, Math.floor(top / 4));
  const range = `${Math.max(1, top - 2 * step)}:${top}:${step}`;
  if (load.mode === 'concurrency') return ['--concurrency-range', range];
  const { requestDistribution: arrivals } = spec.levels;
  return ['--request-rate-range', range, ...(arrivals === 'constant' ? [] : ['--request-distribution', arrivals])];
}

/**
 * Returns the command that measures a model of the study at levels up to this one, into a JSON
 * file; null if there is none.
 */
export function profileCommand(started: StudyStarted, model: string, load: LoadLevel, json: string): string | null {
  const server = serverWords(started);
  if (server === null) return null;
  const { spec } = started;
  const { batch = spec.traffic.batch } = load;
  const kind = isTextEndpoint(spec.server.endpoint) ? 'texts' : toRequestKind(spec);
  const requests = {
    tensors: () => requestWords({ ...spec, traffic: { ...spec.traffic, batch } }, model),
    prompts: () => promptWords(spec),
    http: () => httpWords(spec),
    texts: () => textWords(spec),
  };
  const percentile = spec.goal.percentile === 99 ? [] : ['--percentile', String(spec.goal.percentile)];
  return formatCommandLine([
    ...['profile', ...(kind === 'http' ? [] : ['-m', model]), ...server, ...requests[kind]()],
    ...[...levelWords(started, load), ...percentile, '--json', json],
  ]);
}

/**
 * Returns the command that examines the study's server and model; null if the server was started
 * for the run.
 */
export function doctorCommand({ spec: { server, model }, server: { controlUrl, controlProtocol } }: StudyStarted) {
  if (server.launch !== undefined || server.launchCommand !== undefined) return null;
  const control = ['-u', controlUrl, '-i', controlProtocol];
  return formatCommandLine(['doctor', '-m', model, ...control, ...secretWords(server)]);
}

/** Returns the command that loads an emitted config on the study's server. */
export const loadCommand = ({ spec: { server }, server: { controlUrl, controlProtocol } }: StudyStarted) => {
  const where = ['-u', controlUrl, '-i', controlProtocol, ...secretWords(server)];
  return (config: string, model: string): string =>
    formatCommandLine(['config', '--from', config, '-m', model, ...where, '--load']);
};

/** Returns the command that goes on with the study of a summary. */
export const resumeCommand = (summary: string, ...more: readonly string[]): string =>
  formatCommandLine(['tune', '--resume', dirname(summary), ...more]);

export const restoreCommand = (directory: string): string => formatCommandLine(['restore', directory]);
