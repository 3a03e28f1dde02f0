import './emulator/infer.ts';
import './emulator/configs.ts';
import './emulator/control.ts';
import './emulator/http.ts';
import './emulator/oversized.ts';
import { emulatorForFile } from './emulator/subject.ts';

// One file for all of them: it is one process whose memory is looked at, before the first case and
// after the last.
emulatorForFile();
