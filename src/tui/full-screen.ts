import { type Instance, type RenderOptions, render } from 'ink';
import type { ReactElement } from 'react';

/**
 * Takes over the whole terminal. Sets keys to raw before anything is drawn. Ink does so only after
 * its first frame, and whatever a person types on seeing it would be echoed into it, with Enter as
 * another key.
 */
export function openFullScreen(
  screen: ReactElement,
  stdin: NodeJS.ReadStream,
  stdout: NodeJS.WriteStream,
  options: Pick<RenderOptions, 'exitOnCtrlC' | 'patchConsole' | 'incrementalRendering'>,
): Instance {
  stdin.setRawMode(true);
  return render(screen, {
    ...options,
    stdin,
    stdout,
    alternateScreen: true,
    maxFps: 15,
    isScreenReaderEnabled: false,
    interactive: true,
  });
}
