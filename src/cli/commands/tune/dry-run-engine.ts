import { exitCodes } from '#app/exit-codes.ts';
import { temporaryFolder } from '#app/run-directory.ts';
import { nothingSeen } from '#app/study/expected-duration.ts';
import { findSampler } from '#app/study/find-sampler.ts';
import { checkSpec } from '#app/study/open-study.ts';
import { planStudy } from '#app/study/plan-study.ts';
import { readPriors } from '#app/study/read-priors.ts';
import { withWorkloads } from '#app/study/read-workloads.ts';
import { toTarget } from '#app/target/target-of.ts';
import { spaceOfOne } from '#app/target/triton/tuned-space.ts';
import { plainLine } from '#base/format.ts';
import { shownCommand } from '#base/secrets.ts';
import { workloadLines } from '#headless/studied-workloads.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { Terminal } from '../../terminal.ts';
import { searchLine } from './dry-run.ts';

/**
 * `--dry-run` with a launch command: prints what a run would try. Starts no server, so the duration
 * of starts, requests and the whole study is unknown. Errors: USAGE, SPACE_INVALID, INPUT_INVALID.
 */
export async function dryRunOfEngine(studySpec: StudySpec, terminal: Terminal): Promise<number> {
  checkSpec(studySpec);
  const { spec, workloads } = await withWorkloads(studySpec);
  const sampler = await findSampler(spec);
  const logs = await temporaryFolder();
  try {
    const priors = await readPriors(spec);
    const begun = { earlier: [], started: null, commandLine: [] };
    const study = { spec, sampler, workloads, priors, directory: logs.path, ...begun };
    const { tell } = terminal;
    const target = await toTarget(study, undefined).open(study, { signal: new AbortController().signal, tell });
    try {
      const { expected, plan } = planStudy(study, target);
      terminal.print(spaceOfOne(spaceFromJson(target.space.definition), target.original).describe());
      if (plan.study.workloads) for (const line of workloadLines(plan.study.workloads)) terminal.print(line);
      const { trials, measurements } = expected(nothingSeen);
      terminal.print(searchLine(sampler.name, { trials, measurements }));
      terminal.print(
        plainLine(`each trial starts a server: ${shownCommand(spec.server.launchCommand ?? '')}`, MAX_SHOWN),
      );
      terminal.print('expected: unknown until a first server start has been timed; nothing was started');
      return exitCodes.done;
    } finally {
      await target.close('untouched');
    }
  } finally {
    await logs.remove();
  }
}

/** The maximum number of characters shown of a launch command. */
const MAX_SHOWN = 1000;
