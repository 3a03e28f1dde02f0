/** The form of a user's additional option for a server that is started for the run. */

const FORM = /^--(?<name>[A-Za-z0-9][A-Za-z0-9_-]*)(?:=.*)?$/s;

const ownPorts = 'a server that is started for the run listens on free ports of the loopback interface';
const needed = 'tritune needs it';

/** Options of tritonserver that a launch sets, or that would lock us out, with the reason. */
const ofServer: Readonly<Record<string, string>> = {
  'model-repository': 'give the repository with --model-repository',
  'model-store': 'give the repository with --model-repository',
  'model-control-mode': 'models are loaded and unloaded one by one, so that it is explicit',
  'load-model': 'the models of the run are loaded',
  ...Object.fromEntries(
    ['http', 'grpc', 'metrics'].flatMap((what) => [
      [`allow-${what}`, needed],
      [`${what}-address`, ownPorts],
      [`${what}-port`, ownPorts],
    ]),
  ),
  'grpc-use-ssl': 'a server that is started for the run speaks no TLS',
  'grpc-use-ssl-mutual': 'a server that is started for the run speaks no TLS',
};

/**
 * Options of `docker run` that a launch sets, or that would lose the container, with the reason.
 */
const ofDocker: Readonly<Record<string, string>> = {
  name: 'the container is ended by its name',
  rm: 'the container goes with the run',
  detach: 'the container lives as long as the run',
  publish: ownPorts,
  'publish-all': ownPorts,
  network: ownPorts,
  net: ownPorts,
  gpus: 'give the GPUs with --docker-gpus',
  'cpuset-cpus': 'give the cores with --server-cpus',
};

/**
 * Returns why a text cannot be an additional option of tritonserver in a launch; null if it can.
 * Triton accepts the beginning of a name as the name.
 */
export const faultOfServerArgument = (text: string): string | null =>
  findFault(text, Object.keys(ofServer), ofServer, (reserved, name) => reserved.startsWith(name));

/**
 * Returns why a text cannot be an additional option of `docker run` in a launch; null if it can.
 */
export const faultOfDockerArgument = (text: string): string | null =>
  findFault(text, Object.keys(ofDocker), ofDocker, (reserved, name) => reserved === name);

function findFault(
  text: string,
  names: readonly string[],
  reasons: Readonly<Record<string, string>>,
  means: (reserved: string, name: string) => boolean,
): string | null {
  const name = FORM.exec(text)?.groups?.name;
  // The value may be a secret.
  if (name === undefined) return `'${text.replace(/=.*$/s, '=…')}' is not of the form --NAME=VALUE`;
  const reserved = names.find((each) => means(each, name));
  return reserved === undefined ? null : `--${name} is set by tritune itself: ${reasons[reserved]}`;
}
