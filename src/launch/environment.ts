import { isSecretName, secretAfter, secretInArgument } from '#base/secrets.ts';

/**
 * Variables that a server may need: where programs, libraries and caches are, how it computes, and
 * what it reads models with.
 */
const NEEDED = new RegExp(
  `^(?:${[
    ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LANGUAGE', 'LC_.*', 'TZ', 'TERM', 'TMPDIR', 'TEMP', 'TMP'],
    ...['LD_.*', 'DYLD_.*', 'XDG_.*', 'SSL_CERT_.*', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE', 'NODE_.*', 'SystemRoot'],
    ...['(?:http|https|no|all)_proxy', '(?:HTTP|HTTPS|NO|ALL)_PROXY', 'DOCKER_.*', 'CONTAINER.*', 'PODMAN_.*'],
    ...['PYTHON.*', 'VIRTUAL_ENV', 'CONDA_.*', 'UV_.*', 'CUDA_.*', 'CUDNN_.*', 'CUBLAS_.*', 'NVIDIA_.*', 'NCCL_.*'],
    ...['NVSHMEM_.*', 'UCX_.*', 'HIP_.*', 'ROCR?_.*', 'HSA_.*', 'OMP_.*', 'KMP_.*', 'GOMP_.*', 'MKL_.*', 'OPENBLAS_.*'],
    ...['TBB_.*', 'OV_.*', 'OPENVINO_.*', 'TF_.*', 'TORCH.*', 'PYTORCH_.*', 'XLA_.*', 'TRITON.*', 'TRT.*', 'TLLM_.*'],
    ...['ORT_.*', 'VLLM_.*', 'SGL.*', 'FLASHINFER_.*', 'LLAMA_.*', 'GGML_.*', 'HF_.*', 'HUGGING_FACE_HUB_TOKEN'],
    ...['TRANSFORMERS_.*', 'TOKENIZERS_.*', 'RAY_.*', 'MALLOC_.*', 'MIMALLOC_.*', 'JEMALLOC_.*'],
    // Model repositories in a cloud.
    ...['AWS_.*', 'GOOGLE_APPLICATION_CREDENTIALS', 'AZURE_STORAGE_.*'],
  ].join('|')})$`,
);

/** Returns the variables of this process that a server which it starts inherits. */
export const inheritedBy = (env: NodeJS.ProcessEnv = process.env): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value !== undefined && NEEDED.test(name) ? [[name, value]] : [])),
  );

/** Returns the variables that `docker run --env=NAME` takes from this process. */
export const passedOn = (words: readonly string[], env: NodeJS.ProcessEnv = process.env): Record<string, string> =>
  Object.fromEntries(
    words.flatMap((word) => {
      const name = /^--(?:env|e)=([^=]+)$/.exec(word)?.[1] ?? '';
      const value = Object.hasOwn(env, name) ? env[name] : undefined;
      return value === undefined ? [] : [[name, value]];
    }),
  );

/**
 * Returns the secrets that a process is started with, which its output must not show: of its
 * options and of its variables.
 */
export const listSecrets = (words: readonly string[], env: Readonly<Record<string, string>>): readonly string[] => [
  ...words.flatMap((word, index) => secretInArgument(word) ?? secretAfter(words[index - 1], word) ?? []),
  ...Object.values(passedOn(words, env)),
  ...Object.entries(env).flatMap(([name, value]) => (isSecretName(name) ? [value] : [])),
];
