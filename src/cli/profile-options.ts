import { TrituneError } from '../base/errors.ts';
import { type ClientFlags, clientOptionTable } from './client-options.ts';
import type { OptionTable } from './option-table.ts';
import { type PerfAnalyzerFlags, perfAnalyzerOptionTable } from './perf-analyzer-options.ts';
import { type LevelFlags, levelOptionTable } from './profile-level-options.ts';
import { type MeasuringFlags, measuringOptionTable } from './profile-measuring-options.ts';
import { type OutputFlags, outputOptionTable } from './profile-output-options.ts';
import { type RequestOptions, requestOptionTable } from './request-options.ts';
import { type TlsFlags, tlsOptionTable } from './tls-options.ts';
import { type TransportFlags, transportOptionTable } from './transport-options.ts';
import { type Protocol, tuneOptionTable } from './tune-options.ts';

/** The options of `tritune profile`, parsed. */
export interface ProfileOptions
  extends LevelFlags,
    MeasuringFlags,
    OutputFlags,
    RequestOptions,
    TlsFlags,
    TransportFlags,
    ClientFlags,
    PerfAnalyzerFlags {
  readonly model?: string;
  readonly modelVersion?: string;
  readonly serviceKind: string;
  readonly url?: string;
  readonly protocol: Protocol;
  readonly launch?: string;
  readonly modelRepository?: string;
  readonly tritonserver?: string;
  readonly dockerImage: string;
  readonly dockerGpus?: string;
}

export const profileOptionTable: OptionTable<ProfileOptions> = {
  model: { flags: '-m, --model <name>', help: 'the model to send to' },
  modelVersion: { flags: '-x, --model-version <version>', help: "its version (default: the server's choice)" },
  serviceKind: {
    flags: '--service-kind <kind>',
    help: 'triton, or http for any URL (see the options about plain HTTP)',
    default: 'triton',
  },
  url: {
    flags: '-u, --url <host:port>',
    help: 'the server (default: localhost:8000 for http, localhost:8001 for grpc)',
  },
  protocol: { flags: '-i, --protocol <protocol>', help: 'http or grpc', parse: protocol, default: 'http' },
  ...levelOptionTable,
  ...measuringOptionTable,
  ...requestOptionTable,
  ...transportOptionTable,
  ...clientOptionTable,
  ...tlsOptionTable,
  ...outputOptionTable,
  launch: tuneOptionTable.launch,
  modelRepository: tuneOptionTable.modelRepository,
  tritonserver: tuneOptionTable.tritonserver,
  dockerImage: tuneOptionTable.dockerImage,
  dockerGpus: tuneOptionTable.dockerGpus,
  ...perfAnalyzerOptionTable,
};

/** In any case of letters, as perf_analyzer takes it. */
function protocol(text: string): Protocol {
  const name = text.toLowerCase();
  if (name === 'grpc' || name === 'http') return name;
  throw new TrituneError('USAGE', `there is no protocol '${text}'`, 'use http or grpc');
}
