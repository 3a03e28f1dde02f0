/** What a key does. */
export type Command =
  | { readonly name: 'move'; readonly by: number }
  /** Moves within a panel of parameters: to another parameter, or to another value. */
  | { readonly name: 'step'; readonly rows: number; readonly values: number }
  | { readonly name: 'page'; readonly page: 'trial' | 'help' }
  | { readonly name: 'type'; readonly text: string }
  /** A key of the table that has no meaning at the moment. */
  | { readonly name: 'not-now'; readonly reason: string }
  | {
      readonly name:
        | 'sort'
        | 'front'
        | 'mark'
        | 'back'
        | 'pause'
        | 'skip'
        | 'again'
        | 'withdraw'
        | 'ask-quit'
        | 'ask-budget'
        | 'ask-space'
        | 'ask-hand'
        | 'accept-budget'
        | 'pin'
        | 'exclude'
        | 'free'
        | 'try'
        | 'stop-search'
        | 'quit'
        | 'export'
        | 'cancel'
        | 'interrupt';
    };

/** How the screen stands to the run: `live` while it can be steered, `stopping` after it was told to end, else `over`. */
export type Phase = 'live' | 'stopping' | 'over';

export type Elsewhere = 'ends' | 'goes-on';

/** What can be done besides looking. */
export interface Abilities {
  readonly phase: Phase;
  readonly canExport: boolean;
  /** Where another process conducts the study: what becomes of that when this screen is left. */
  readonly elsewhere?: Elsewhere | undefined;
}
