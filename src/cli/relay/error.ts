/** What the relay answers itself, with a code of OCI's distribution specification. */
export class RelayError extends Error {
  override readonly name = "RelayError";
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
