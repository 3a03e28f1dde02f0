import { parseEmitted, type ScalingOptions } from '#app/emit-autoscaler.ts';
import { autoscalerKinds } from '#autoscale/autoscaler.ts';
import { type OptionTable, under } from './option-table.ts';
import { durationSeconds } from './option-values.ts';

type ScalingFlags = Pick<ScalingOptions, 'emit' | 'forTraffic' | 'replicaStart'>;

/** Objects of autoscalers (docs/autoscaling.md). */
export const scalingOptionTable: OptionTable<ScalingFlags> = under<ScalingFlags>('Cost and replicas', {
  emit: {
    flags: '--emit <kind-and-file...>',
    help: `Write the object of an autoscaler with values that suit, such as --emit keda scaled.yaml (${autoscalerKinds.join(', ')})`,
    parse: parseEmitted,
    offers: autoscalerKinds,
  },
  forTraffic: {
    flags: '--for-traffic <file>',
    help: 'Workload file with the traffic of the autoscaler, scaled to --for-rate if that is given (default: recorded traffic)',
  },
  replicaStart: {
    flags: '--replica-start <duration>',
    help: 'Time from the start of a replica by the autoscaler until it serves (default: 60s)',
    parse: durationSeconds,
  },
});
