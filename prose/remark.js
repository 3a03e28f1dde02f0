/** remark's command line reads its configuration from a file of JavaScript. */
export { rules as default } from './rules.ts';
