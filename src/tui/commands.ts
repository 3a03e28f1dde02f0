/** The effect of a key. */
export type Command =
  | { readonly name: 'move'; readonly by: number }
  /** Moves within a panel of parameters: to another parameter, or to another value. */
  | { readonly name: 'step'; readonly rows: number; readonly values: number }
  | { readonly name: 'page'; readonly page: 'trial' | 'help' }
  | { readonly name: 'type'; readonly text: string }
  /** A key of the table that does not work at the moment. */
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

/** The screen's relation to the run: `live` while it can be steered, `stopping` after it was told to end, else `over`. */
export type Phase = 'live' | 'stopping' | 'over';

export type Elsewhere = 'ends' | 'goes-on';

/** What a person can do besides looking. */
export interface Abilities {
  readonly phase: Phase;
  readonly canExport: boolean;
  /** If another process conducts the study, what happens to the study when this screen closes. */
  readonly elsewhere?: Elsewhere | undefined;
}
