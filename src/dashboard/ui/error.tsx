/** The error page, and the page of suspended accounts. */
import type { ProblemError } from "../../errors/errors.ts";

export const ErrorPage = ({
  title,
  problem,
  requestId,
  back,
}: {
  title: string;
  problem: ProblemError | undefined;
  requestId: string;
  /** Address of the page that the reader came from. */
  back: string | undefined;
}) => (
  <div class="box empty">
    <h1>{title}</h1>
    <p>
      {problem?.message ??
        "Something went wrong on our end. Try again. If it keeps happening, give an operator this request ID:"}
    </p>
    {!problem && (
      <p>
        <code>{requestId}</code>
      </p>
    )}
    <p>
      {back !== undefined && problem?.code !== "unauthenticated" && (
        <>
          <a href={back}>Back</a>{" "}
        </>
      )}
      {problem?.code === "unauthenticated" ? <a href="/sign-in">Log in</a> : <a href="/">Home</a>}
    </p>
  </div>
);

/** Shown once for each login: the session is over. */
export const SuspendedPage = () => (
  <div class="box empty">
    <h1>This account is suspended</h1>
    <p>
      You can’t log in, access tokens are rejected, and unfinished predictions are canceled. Nothing
      is deleted. Once an operator restores the account, everything works again.
    </p>
    <p>To find out why, ask the operator of this deployment.</p>
    <p>
      <a href="/">Home</a>
    </p>
  </div>
);
