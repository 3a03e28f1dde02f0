import { type AddressSpec, protocols } from '#spec/server-spec.ts';
import { studyDocument } from '#spec/spec-of-options.ts';
import { type FlatStudyOptions, serviceKinds } from '#spec/tune-options.ts';
import { clientOptionTable } from '../../options/client.ts';
import { costOptionTable } from '../../options/cost.ts';
import { filledBy } from '../../options/filled-rows.ts';
import { languageOptionTable } from '../../options/language.ts';
import { launchOptionTable } from '../../options/launch.ts';
import { type OptionTable, under } from '../../options/option-table.ts';
import { otlpOption } from '../../options/otlp.ts';
import { protectOptionTable, restoreFirstOptionTable } from '../../options/protect.ts';
import { requestOptionTable } from '../../options/requests.ts';
import { tlsOptionTable } from '../../options/tls.ts';
import { transportOptionTable } from '../../options/transport.ts';
import { trustOptionTable } from '../../options/trust.ts';
import { httpContentOptionTable } from '../profile/http-options.ts';
import { promptOptionTable } from '../profile/prompt-options.ts';
import { goalOptionTable } from './goal-options.ts';
import { accuracyOptionTable, studyMeasuringOptionTable } from './measuring-options.ts';
import { levelRangeOptionTable, searchOptionTable } from './search-options.ts';
import { workloadOptionTable } from './workload-options.ts';

/** The screens that `--ui` takes. */
export const uiNames = ['auto', 'tui', 'lines', 'json', 'none'] as const;

export type UiName = (typeof uiNames)[number];

/**
 * The options of `tritune tune` for one model, parsed: those of a study, and those that only a
 * command line has.
 */
export interface TuneFlags
  extends Omit<FlatStudyOptions, 'together' | 'mix' | 'blsComposing' | 'modelRequests' | 'modelBudgets'> {
  readonly ui: UiName;
  readonly resume?: string;
  readonly trustRun?: boolean;
  /** A file with the study. */
  readonly spec?: string;
  readonly printSpec: boolean;
  readonly dryRun: boolean;
  readonly verbose: boolean;
  readonly otlp?: string;
}

type ConnectionOptions = Pick<AddressSpec, 'url' | 'protocol' | 'controlUrl' | 'metricsUrl'>;

/** The text of `-u` where several servers may serve as one. */
export const SERVERS_HELP =
  'Address of the server, or of several that serve as one, A,B (default: localhost:8001 for grpc, localhost:8000 for http)';

/** Where a server is. */
export const connectionOptionTable: OptionTable<ConnectionOptions> = under<ConnectionOptions>('Connection', {
  url: {
    flags: '-u, --url <host:port>',
    help: 'Address of the server (default: localhost:8001 for grpc, localhost:8000 for http)',
  },
  protocol: {
    flags: '-i, --protocol <protocol>',
    help: 'Protocol of the requests (default: the one that the port speaks)',
    choices: protocols,
  },
  controlUrl: {
    flags: '--control-url <host:port>',
    help: "Address of gRPC for loading models when requests go over HTTP (default: port 8001 if HTTP's is 8000, else HTTP)",
  },
  metricsUrl: {
    flags: '--metrics-url <url>',
    help: "Address of the server's Prometheus metrics (default: at the port after gRPC's, or at 8002)",
  },
});

type SafetyOptions = Pick<
  TuneFlags,
  'restore' | 'loadTimeout' | 'firstRequestTimeout' | 'maxOutage' | 'protect' | 'restoreFirst' | 'trustRun'
>;

const safetyOptionTable: OptionTable<SafetyOptions> = under<SafetyOptions>('Safety', {
  restore: {
    flags: '--restore <how>',
    help: 'How to put the original model back: load its config (no outage), or reload it from the repository',
  },
  loadTimeout: {
    flags: '--load-timeout <duration>',
    help: 'Longest time that one load of the model may take (default: 10m)',
  },
  firstRequestTimeout: {
    flags: '--first-request-timeout <duration>',
    help: 'Longest time until the model answers its first requests after a load (default: as --load-timeout)',
  },
  maxOutage: {
    flags: '--max-outage <duration>',
    help: 'Longest time that the server may be unreachable before the run ends (default: 20s)',
  },
  ...protectOptionTable,
  ...restoreFirstOptionTable,
  ...trustOptionTable,
});

type RunOptions = Pick<
  TuneFlags,
  'ui' | 'otlp' | 'trace' | 'output' | 'resume' | 'spec' | 'printSpec' | 'dryRun' | 'verbose'
>;

const runOptionTable: OptionTable<RunOptions> = under<RunOptions>('Output', {
  ui: {
    flags: '--ui <screen>',
    help: 'What to show; auto shows the full screen on a terminal, else lines',
    choices: uiNames,
    default: 'auto',
  },
  otlp: otlpOption,
  trace: {
    flags: '--trace',
    help: 'Trace the best configuration on the server at the end (docs/trace.md)',
  },
  output: {
    flags: '-o, --output <directory>',
    help: 'Directory for the results (default: tritune-runs/MODEL-TIMESTAMP)',
  },
  resume: { flags: '--resume <directory>', help: 'Continue the study in this directory' },
  spec: {
    flags: '--spec <file>',
    help: 'YAML or JSON file with the study; options on the command line override it (docs/study-spec.md)',
  },
  printSpec: { flags: '--print-spec', help: 'Print the study as such a file and exit', default: false },
  dryRun: {
    flags: '--dry-run',
    help: 'Show what would be measured and how long it would take; change nothing',
    default: false,
  },
  verbose: { flags: '--verbose', help: 'Show stack traces with errors', default: false },
});

export const tuneOptionTable = filledBy<Omit<TuneFlags, 'modelAnalyzer'>>(studyDocument, {
  serviceKind: {
    flags: '--service-kind <kind>',
    help: 'Kind of service: a model on a Triton, openai for a language model, or http for any other (docs/plain-http.md)',
    choices: serviceKinds,
    heading: 'Connection',
  },
  model: { flags: '-m, --model <name>', help: 'Model to tune', heading: 'Several models' },
  ...goalOptionTable,
  ...levelRangeOptionTable,
  ...searchOptionTable,
  ...studyMeasuringOptionTable,
  ...requestOptionTable,
  ...workloadOptionTable,
  ...languageOptionTable,
  ...httpContentOptionTable,
  ...promptOptionTable,
  ...costOptionTable,
  ...accuracyOptionTable,
  ...connectionOptionTable,
  url: { ...connectionOptionTable.url, help: SERVERS_HELP },
  ...transportOptionTable,
  ...tlsOptionTable,
  ...launchOptionTable,
  ...safetyOptionTable,
  ...clientOptionTable,
  adapter: {
    flags: '--adapter <file>',
    help: 'Module that drives a server other than Triton (docs/extending.md)',
    heading: 'Connection',
  },
  ...runOptionTable,
});
