import type { ModelConfig } from './model-config.ts';

/**
 * A backend under the names that people and published tables use, with the platform of its models
 * and the format of their files.
 */
export interface NamedBackend {
  readonly backend: string;
  readonly platform: string;
  readonly name: string;
  readonly format: string;
}

/** The first entry of a backend applies if only the backend is named. */
const named: readonly NamedBackend[] = [
  { backend: 'tensorrt', platform: 'tensorrt_plan', name: 'NVIDIA TensorRT', format: 'NVIDIA TensorRT' },
  { backend: 'pytorch', platform: 'pytorch_libtorch', name: 'PyTorch', format: 'TorchScript' },
  // Since 26.03 (pytorch_backend, README).
  { backend: 'pytorch', platform: 'torch_aoti', name: 'PyTorch', format: 'Torch AOT Inductor' },
  { backend: 'onnxruntime', platform: 'onnxruntime_onnx', name: 'ONNX Runtime', format: 'ONNX' },
  { backend: 'tensorflow', platform: 'tensorflow_savedmodel', name: 'TensorFlow', format: 'TensorFlow SavedModel' },
  { backend: 'tensorflow', platform: 'tensorflow_graphdef', name: 'TensorFlow', format: 'TensorFlow GraphDef' },
  { backend: 'openvino', platform: '', name: 'OpenVINO', format: 'OpenVINO IR' },
  { backend: 'python', platform: '', name: 'Python', format: 'Python' },
];

/** The backend of each platform. PyTorch has several other names, depending on the release. */
export const backendOfPlatform: ReadonlyMap<string, string> = new Map(
  named.filter(({ platform }) => platform !== '').map(({ platform, backend }) => [platform, backend]),
);

/**
 * Returns the names of a config's backend, by its platform first; undefined for an unknown backend.
 */
export const namesOfBackend = ({ backend = '', platform = '' }: ModelConfig): NamedBackend | undefined =>
  named.find((each) => platform !== '' && each.platform === platform) ?? named.find((each) => each.backend === backend);

/**
 * Returns the backend with this name, either Triton's own or that of published tables; undefined
 * for others.
 */
export function backendNamed(text: string): NamedBackend | undefined {
  const plain = (name: string): string =>
    name
      .toLowerCase()
      .replace(/^nvidia /, '')
      .replaceAll(' ', '');
  return named.find(({ backend, name }) => [backend, plain(name)].includes(plain(text)));
}
