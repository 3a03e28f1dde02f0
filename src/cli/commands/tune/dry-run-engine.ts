import type { AdapterDefinition, AdapterSpace } from '../../../adapter/definition.ts';
import { temporaryFolder } from '../../../app/output/directory.ts';
import { engineOfStudy } from '../../../app/study/engine/engine-of-study.ts';
import { findSampler } from '../../../app/study/find-sampler.ts';
import { checkSpec } from '../../../app/study/open-study.ts';
import { spaceOfOne } from '../../../app/study/pipeline/tuned-space.ts';
import { planByAdapter, ruleOf } from '../../../app/study/tune-by-adapter.ts';
import { withWorkloads } from '../../../app/study/workloads/read-workloads.ts';
import { plainLine } from '../../../base/format.ts';
import { shownCommand } from '../../../base/secrets.ts';
import { workloadLines } from '../../../headless/studied-workloads.ts';
import { spaceFromJson } from '../../../space/source/load.ts';
import type { StudySpec } from '../../../spec/study-spec.ts';
import { exitCodes } from '../../exit-codes.ts';
import type { Terminal } from '../../terminal.ts';
import { searchLine } from './dry-run.ts';

/**
 * `--dry-run` with a launch command: prints what a run would try. Starts no server, so the duration of starts, requests and the whole study is
 * unknown. Errors: USAGE, SPACE_INVALID, INPUT_INVALID.
 */
export async function dryRunOfEngine(asked: StudySpec, terminal: Terminal): Promise<number> {
  checkSpec(asked);
  const { spec, workloads } = await withWorkloads(asked);
  const definition = engineOfStudy(spec, null, workloads) as AdapterDefinition;
  const sampler = await findSampler(spec);
  const logs = await temporaryFolder();
  try {
    const opened = await definition.open(ruleOf({ spec, workloads }), undefined, logs.path);
    try {
      const { original } = opened.adapter;
      const { definition: space } = opened.space as AdapterSpace;
      const study = { spec, sampler, earlier: [], started: null, commandLine: [], workloads };
      const { expected, plan } = planByAdapter(study, opened);
      terminal.print(spaceOfOne(spaceFromJson(space), original).describe());
      if (plan.study.workloads) for (const line of workloadLines(plan.study.workloads)) terminal.print(line);
      const { trials, measurements } = expected({ requestMs: null, loadSeconds: null });
      terminal.print(searchLine(sampler.name, { trials, measurements }));
      terminal.print(
        plainLine(`each trial starts a server: ${shownCommand(spec.server.launchCommand ?? '')}`, MOST_SHOWN),
      );
      terminal.print('expected: unknown until a first server start has been timed; nothing was started');
      return exitCodes.done;
    } finally {
      await opened.close();
    }
  } finally {
    await logs.remove();
  }
}

/** The maximum number of characters shown of a launch command. */
const MOST_SHOWN = 1000;
