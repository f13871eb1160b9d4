/** A stream that the Worker itself writes: it can be counted, and ended when its reader's access ends. */
export interface EventStream {
  body: ReadableStream<Uint8Array>;
  /** Resolves when the stream has ended or its reader has left. */
  over: Promise<void>;
  /** Ends the stream between two events, with these last words in its own format. */
  end(words: string): Promise<void>;
}
