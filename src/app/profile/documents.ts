import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { realClock } from '#base/clock.ts';
import { formatMessage, isTrituneError, TrituneError } from '#base/errors.ts';
import { writeIn } from '#base/run-files.ts';
import { msToNs, NS_PER_MS } from '#base/units.ts';
import type { ObservedRequest } from '#loadgen/observed-transport.ts';
import type { LoadLevel, OutputTensor } from '#loadgen/types.ts';
import type { LevelReport } from '#profiler/level-report.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import { exportedTensors } from '#report/exported-tensors.ts';
import { perfAnalyzerCsv } from '#report/perf-analyzer-csv.ts';
import { type PngRenderer, pngRenderer } from '#report/png.ts';
import { ProfileExport } from '#report/profile-export.ts';
import { levelJson, type ProfileHead, profileJson } from '#report/profile-json.ts';
import { RequestRecords } from '#report/request-records.ts';
import type { ScenarioFile } from '#report/scenario-case.ts';
import { type Sweep, sweepPlots } from '#report/sweep-plots.ts';
import type { ProfileSpec } from '#spec/profile-spec.ts';
import type { ProfilePlan } from './plan.ts';

/**
 * The files of a profile. They are written during the run, so that an early end loses no
 * measurements.
 */
export interface ProfileDocuments {
  onLevel(level: LoadLevel): void;
  onProgress(progress: ProfileProgress): void;
  onRequest(observed: ObservedRequest, outputs: readonly OutputTensor[]): void;
  /** Errors: OUTPUT_UNWRITABLE. */
  onReport(reports: readonly LevelReport[]): Promise<void>;
  /** Errors: OUTPUT_UNWRITABLE. */
  close(): Promise<void>;
}

/** Errors: OUTPUT_EXISTS for an export that already exists; OUTPUT_UNWRITABLE. */
export async function openProfileDocuments(
  spec: ProfileSpec,
  plan: ProfilePlan,
  head: ProfileHead,
): Promise<ProfileDocuments> {
  const { csv, json, ndjson, profileExportFile } = spec;
  const csvOptions = {
    isVerbose: spec.verboseCsv === true,
    withGpuMetrics: spec.collectMetrics === true,
    percentile: plan.percentile,
  };
  const requests =
    profileExportFile === undefined ? null : await openRequestExport(profileExportFile, head.endpoint !== undefined);
  if (ndjson !== undefined) await write(ndjson, '');
  const line = async (event: object): Promise<void> => {
    if (ndjson !== undefined) await writing(ndjson, appendFile(ndjson, `${JSON.stringify(event)}\n`));
  };
  let lines: Promise<void> = line({ type: 'profile', ...head });
  const next = (event: object): void => {
    lines = lines.then(() => line(event));
    // Callers that wait for the documents get the error.
    lines.catch(() => undefined);
  };
  let isLevelOpen = false;
  const endLevel = (): void => {
    if (isLevelOpen) requests?.endLevel();
    isLevelOpen = false;
  };
  return {
    onLevel: (level) => {
      endLevel();
      requests?.beginLevel(level);
      isLevelOpen = true;
      next({ type: 'level-started', level });
    },
    onProgress: (progress) => {
      if (progress.phase !== 'window') return;
      requests?.onWindow(realClock.nowNs(), msToNs(progress.latest.durationMs));
      next({ type: 'window', ...progress });
    },
    onRequest: (observed, outputs) => requests?.onRequest(observed, outputs),
    onReport: async (reports) => {
      endLevel();
      const report = reports.at(-1);
      if (report) next({ type: 'level', ...levelJson(report) });
      if (csv !== undefined) await write(csv, perfAnalyzerCsv(reports, csvOptions));
      if (json !== undefined) await write(json, `${JSON.stringify(profileJson(head, reports), null, 2)}\n`);
      await lines;
    },
    close: async () => {
      endLevel();
      await lines;
      await requests?.close();
    },
  };
}

/** A file with each request of a profile. */
interface RequestExport extends Pick<ProfileExport, 'beginLevel' | 'endLevel' | 'close'> {
  onRequest(observed: ObservedRequest, outputs: readonly OutputTensor[]): void;
  /** A window of this length is over. */
  onWindow(nowNs: number, lengthNs: number): void;
}

/**
 * Opens the file with each request: of a language model as AIPerf writes it, otherwise as
 * perf_analyzer does. Errors: OUTPUT_EXISTS, OUTPUT_UNWRITABLE.
 */
async function openRequestExport(path: string, isLanguage: boolean): Promise<RequestExport> {
  if (isLanguage) return RequestRecords.open(path, epochNs());
  const tensors = await ProfileExport.open(path, epochNs());
  return {
    beginLevel: (level) => tensors.beginLevel(level),
    onRequest: ({ request, startNs, endNs, outcome }, outputs) => {
      if (!outcome.ok) return;
      const id = request.parameters?.find(({ name }) => name === 'sequence_id')?.value;
      tensors.request({
        startNs,
        responsesNs: [endNs],
        sequenceId: Number(id ?? 0),
        inputs: exportedTensors(request.inputs),
        outputs: exportedTensors(outputs),
      });
    },
    onWindow: (nowNs) => tensors.boundary(nowNs),
    endLevel: () => tensors.endLevel(),
    close: () => tensors.close(),
  };
}

/** Nanoseconds from 1970 to the monotonic clock's 0. */
const epochNs = (): bigint =>
  BigInt(Math.round(realClock.wallMs() * 1e3)) * 1000n - BigInt(Math.round(realClock.nowNs() / NS_PER_MS)) * 1_000_000n;

/** Errors: OUTPUT_UNWRITABLE. */
export async function writeScenarioFiles(directory: string, files: readonly ScenarioFile[]): Promise<void> {
  for (const { name, content } of files) await writeIn(directory, [name], content);
}

/**
 * Draws sweeps into a directory. Returns the paths. Without fonts or a renderer there are SVG files
 * alone, which `tell` says. Errors: OUTPUT_UNWRITABLE.
 */
export async function writePictures(
  directory: string,
  sweeps: readonly Sweep[],
  tell: (line: string) => void,
): Promise<readonly string[]> {
  const files = sweepPlots(sweeps, await openRenderer(tell));
  await writeScenarioFiles(directory, files);
  return files.map(({ name }) => join(directory, name));
}

/** Returns what draws PNG files; null where nothing can, and says so. */
export async function openRenderer(tell: (line: string) => void): Promise<PngRenderer | null> {
  try {
    return await pngRenderer();
  } catch (error) {
    if (!isTrituneError(error, 'UNSUPPORTED')) throw error;
    tell(error.message);
    return null;
  }
}

const write = (path: string, content: string | Uint8Array): Promise<void> => writing(path, writeFile(path, content));

async function writing(path: string, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    throw new TrituneError('OUTPUT_UNWRITABLE', `cannot write ${path}: ${formatMessage(error)}`, 'choose another path');
  }
}
