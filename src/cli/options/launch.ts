import { TrituneError } from '#base/errors.ts';
import { faultOfDockerArgument, faultOfServerArgument } from '#spec/launch-arguments.ts';
import { DEFAULT_DOCKER_IMAGE, type LaunchSpec } from '#spec/server-spec.ts';
import { type OptionTable, under } from './option-table.ts';
import { collect } from './option-values.ts';

/** Options of every command that can start a server for the run. */
export const launchOptionTable: OptionTable<LaunchSpec> = under<LaunchSpec>('Server started for the run', {
  launch: {
    flags: '--launch <what>',
    help: 'Start a server for the run: emulator[:PROFILE], twin:RUN_DIRECTORY (an emulated copy of the server of that run), local or docker',
  },
  modelRepository: { flags: '--model-repository <directory>', help: 'Model repository for --launch local|docker' },
  tritonserver: {
    flags: '--tritonserver <path>',
    help: 'Triton binary for --launch local (default: the one of install-triton)',
  },
  serverArg: {
    flags: '--server-arg <option>',
    help: 'Option of tritonserver, such as --server-arg=--cache-config=local,size=1048576; repeatable',
    parse: collectWithout(faultOfServerArgument),
  },
  serverCpus: {
    flags: '--server-cpus <list>',
    help: 'CPU cores of the started server, such as 0-3,8 (Linux; default: all)',
  },
  dockerImage: {
    flags: '--docker-image <image>',
    help: 'Image for --launch docker',
    default: DEFAULT_DOCKER_IMAGE,
  },
  dockerGpus: {
    flags: '--docker-gpus <gpus>',
    help: 'GPUs for --launch docker, as docker run --gpus takes them, or none (default: all)',
  },
  dockerArg: {
    flags: '--docker-arg <option>',
    help: 'Option of docker run, such as --docker-arg=--memory=8g; repeatable',
    parse: collectWithout(faultOfDockerArgument),
  },
});

/** Returns the earlier texts and this one. Errors: USAGE if it is not allowed. */
function collectWithout(findFault: (text: string) => string | null): typeof collect {
  return (text, previous) => {
    const fault = findFault(text);
    if (fault !== null) throw new TrituneError('USAGE', fault, 'leave it out, or write --NAME=VALUE');
    return collect(text, previous);
  };
}
