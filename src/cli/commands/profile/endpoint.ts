import { openProfileDocuments } from '../../../app/profile/documents.ts';
import { askedOf } from '../../../app/profile/endpoint-asked.ts';
import { profileHead } from '../../../app/profile/head.ts';
import { findLanguageServer } from '../../../app/profile/language-server.ts';
import { planProfile } from '../../../app/profile/plan.ts';
import type { EndpointSpec } from '../../../app/profile/profile-spec.ts';
import { afterRestoring } from '../../../app/restore/restore-first.ts';
import { warnIfInsecure } from '../../../app/server/tls.ts';
import { sweep } from '../../../profiler/sweep.ts';
import type { PromptSpec } from '../../../workload/prompt-spec.ts';
import type { Terminal } from '../../terminal.ts';
import { measureLevels } from './levels.ts';
import { loadOf } from './load.ts';
import type { ProfileOptions } from './options.ts';
import { withoutAliases } from './perf-analyzer-aliases.ts';
import { exitCodeOf, interruptible } from './run.ts';

/** The options of `profile` with those of language models. */
export type EndpointOptions = ProfileOptions & EndpointSpec & PromptSpec;

/**
 * Measures a language model level after level, with the times of its tokens. Returns the exit code. Errors: USAGE, INPUT_INVALID, OUTPUT_*,
 * MODEL_UNKNOWN, UNSUPPORTED; SERVER_* if no complete reply ever came, or if the server went away.
 */
export async function runEndpoint(given: EndpointOptions, terminal: Terminal): Promise<number> {
  const { options, maxInFlight } = loadOf({ ...given, ...withoutAliases(given) });
  const asked = askedOf(options);
  // Faults in the options are reported before the server is contacted.
  const asFarAsKnown = await planProfile(options, false);
  warnIfInsecure(options, terminal);
  const { model, server, endpoint, spec, plan, open } = await afterRestoring(options, terminal.tell, () =>
    findLanguageServer(options, asked, asFarAsKnown),
  );
  const head = { ...profileHead(spec, plan, server, model, process.argv.slice(2)), endpoint };
  terminal.tell(`${model} on ${server.name} ${server.version} at ${server.url}, by ${endpoint}`);
  const outcome = await interruptible(terminal, async (signal, reports) => {
    const documents = await openProfileDocuments(spec, plan, head);
    try {
      const target = await open(signal, maxInFlight);
      const run = { options: spec, plan, alike: false, documents, terminal, reports };
      await measureLevels(run, target, (measure) => sweep(plan.sweep, measure));
    } finally {
      await documents.close();
    }
  });
  return exitCodeOf(outcome);
}
