/** A stream that the Worker itself writes: it can be counted, and ended when its reader's access ends. */
export interface EventStream {
  body: ReadableStream<Uint8Array>;
  /** Resolves when it has ended or its reader has left. */
  over: Promise<void>;
  /** Ends it between two events, with these last words in the stream's own format. */
  end(words: string): Promise<void>;
}
