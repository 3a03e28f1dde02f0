import { TrituneError } from '#base/errors.ts';
import type { ProfileSpec } from '#spec/profile-spec.ts';
import type { Protocol } from '#spec/server-spec.ts';
import { clientOptionTable } from '../../options/client.ts';
import { launchOptionTable } from '../../options/launch.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { restoreFirstOptionTable } from '../../options/protect.ts';
import { requestOptionTable } from '../../options/requests.ts';
import { tlsOptionTable } from '../../options/tls.ts';
import { transportOptionTable } from '../../options/transport.ts';
import { SERVERS_HELP } from '../tune/options.ts';
import { levelOptionTable } from './level-options.ts';
import { measuringOptionTable } from './measuring-options.ts';
import { outputOptionTable } from './output-options.ts';
import { type PerfAnalyzerFlags, perfAnalyzerOptionTable } from './perf-analyzer-options.ts';

/**
 * The options of `tritune profile`, parsed: a profile, and options that only a command line has.
 */
export interface ProfileOptions extends ProfileSpec, PerfAnalyzerFlags {
  readonly serviceKind: string;
  readonly dockerImage: string;
}

/** The rows of `profile`, apart from what they leave to the document. */
export const profileRows: OptionTable<ProfileOptions> = {
  model: { flags: '-m, --model <name>', help: 'Model to measure' },
  modelVersion: {
    flags: '-x, --model-version <version>',
    help: "Version of the model (default: the server's choice)",
    heading: 'Requests',
  },
  serviceKind: {
    flags: '--service-kind <kind>',
    help: 'Kind of server: triton, openai for a language model, or http for any URL',
    heading: 'Connection',
    default: 'triton',
  },
  url: {
    flags: '-u, --url <host:port>',
    help: SERVERS_HELP,
    heading: 'Connection',
  },
  protocol: {
    flags: '-i, --protocol <protocol>',
    help: 'Protocol of the requests: http or grpc (default: the one that the port speaks)',
    parse: protocol,
    heading: 'Connection',
  },
  ...levelOptionTable,
  ...measuringOptionTable,
  ...requestOptionTable,
  ...transportOptionTable,
  ...clientOptionTable,
  ...tlsOptionTable,
  ...outputOptionTable,
  ...launchOptionTable,
  ...restoreFirstOptionTable,
  ...perfAnalyzerOptionTable,
};

/** Ignores case, like perf_analyzer. */
function protocol(text: string): Protocol {
  const name = text.toLowerCase();
  if (name === 'grpc' || name === 'http') return name;
  throw new TrituneError('USAGE', `there is no protocol '${text}'`, 'use -i http or -i grpc');
}
