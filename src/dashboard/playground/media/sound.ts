/** The sound of a server that speaks: its bytes come in pieces of base64, the first of which says what they are. */

/** What servers make unless they are asked for something else. */
const DEFAULT_TYPE = "audio/mpeg";

export class Sound {
  readonly #pieces: string[] = [];
  #type = DEFAULT_TYPE;

  take(base64: string, contentType: string): void {
    // Without its parameters, which a data URL has elsewhere.
    this.#type = /^audio\/[\w.+-]+/.exec(contentType)?.[0] ?? this.#type;
    try {
      this.#pieces.push(atob(base64));
    } catch {
      // The server's own events may be anything: what cannot be read is left out.
    }
  }

  /** A data URL; undefined without any. */
  get address(): string | undefined {
    const bytes = this.#pieces.join("");
    return bytes === "" ? undefined : `data:${this.#type};base64,${btoa(bytes)}`;
  }
}
