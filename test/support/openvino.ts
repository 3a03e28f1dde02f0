import type { TritonInstall } from '#launch/triton-install.ts';
import { pythonPackages } from './peer-packages.ts';

const REQUIREMENTS = ['openvino==2024.6.0', 'openvino-telemetry==2025.2.0'];

/**
 * Returns the folder with the OpenVINO package for the Python of this Triton; fetched on first use.
 */
export const openvinoPackages = (install: TritonInstall): Promise<string> =>
  pythonPackages(install, 'openvino', REQUIREMENTS);
