import { TrituneError } from '../../base/errors.ts';
import { faultOfDockerArgument, faultOfServerArgument } from '../../spec/launch-arguments.ts';
import { DEFAULT_DOCKER_IMAGE, type LaunchSpec } from '../../spec/server-spec.ts';
import type { OptionTable } from './option-table.ts';
import { collect } from './option-values.ts';

/** Options of every command that can start a server for the run. */
export const launchOptionTable: OptionTable<LaunchSpec> = {
  launch: {
    flags: '--launch <what>',
    help: 'start a server for the run: emulator[:PROFILE], twin:RUN_DIRECTORY (the emulator, as the server of that run), local or docker (these two need --model-repository)',
  },
  modelRepository: { flags: '--model-repository <directory>', help: 'the model repository for --launch local|docker' },
  tritonserver: {
    flags: '--tritonserver <path>',
    help: 'binary for --launch local (default: the one of install-triton)',
  },
  serverArg: {
    flags: '--server-arg <option>',
    help: 'an option of tritonserver for --launch local|docker, such as --server-arg=--cache-config=local,size=1048576; repeatable',
    parse: collectWithout(faultOfServerArgument),
  },
  serverCpus: {
    flags: '--server-cpus <list>',
    help: 'the cores that a launched server may use, such as 0-3,8: apart from the load generator and from other servers (Linux)',
  },
  dockerImage: {
    flags: '--docker-image <image>',
    help: 'image for --launch docker',
    default: DEFAULT_DOCKER_IMAGE,
  },
  dockerGpus: {
    flags: '--docker-gpus <gpus>',
    help: 'GPUs for --launch docker, as docker run --gpus takes them, or none (default: all)',
  },
  dockerArg: {
    flags: '--docker-arg <option>',
    help: 'an option of docker run for --launch docker, such as --docker-arg=--memory=8g; repeatable',
    parse: collectWithout(faultOfDockerArgument),
  },
};

/** The texts so far and this one. Errors: USAGE, when it cannot be given. */
function collectWithout(faultOf: (text: string) => string | null): typeof collect {
  return (text, previous) => {
    const fault = faultOf(text);
    if (fault !== null) throw new TrituneError('USAGE', fault, 'leave it out, or write --NAME=VALUE');
    return collect(text, previous);
  };
}
