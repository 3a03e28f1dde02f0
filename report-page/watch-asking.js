// How the page asks its server for what the stream does not bring.

/** Returns a function that runs the work: one run at a time with a pause between two, and once more if it was called meanwhile. */
function oneAtATime(pauseMs, work) {
  let isBusy = false;
  let isWanted = false;
  const run = async () => {
    if (isBusy) {
      isWanted = true;
      return;
    }
    isBusy = true;
    isWanted = false;
    try {
      await work();
    } catch {
      // The page says elsewhere whether its server is there; the next call tries again.
    }
    setTimeout(() => {
      isBusy = false;
      if (isWanted) void run();
    }, pauseMs);
  };
  return () => void run();
}
