// What a person with the token asks of a study. The token goes out in a header alone, and is kept nowhere but in its field.

const ORDER_LIMIT_MS = 20000;

function ordersOf(study) {
  const said = make('span', { class: 'said', role: 'status' });
  const budget = make('input', { type: 'number', min: '0', step: 'any', 'aria-label': 'latency budget, ms' });
  const give = async (order) => {
    const token = byId('token').value;
    if (token === '') {
      said.textContent = 'give the token first';
      byId('token').focus();
      return;
    }
    said.textContent = '…';
    said.textContent = await sent(study, order, token);
  };
  const button = (text, orderOf, question) => {
    const element = make('button', { type: 'button' }, text);
    element.addEventListener('click', () => {
      const order = orderOf();
      if (order && (!question || confirm(question))) void give(order);
    });
    return element;
  };
  const newBudget = () => {
    const latencyMs = Number(budget.value);
    if (latencyMs > 0) return { kind: 'budget', latencyMs };
    said.textContent = 'give a budget in milliseconds';
    return null;
  };
  const kind = (name) => () => ({ kind: name });
  const element = make(
    'div',
    { class: 'orders' },
    button('pause', kind('pause')),
    button('go on', kind('resume')),
    button('end the search', kind('stop-search'), `End the search of ${study}? The final follows.`),
    button('stop now', kind('stop-now'), `Stop ${study} now? What is under way is left, and its servers are put back.`),
    budget,
    button('set the budget, ms', newBudget),
    said,
  );
  element.hidden = true;
  return {
    element,
    show(isOffered) {
      element.hidden = !isOffered;
    },
  };
}

/** Returns the outcome of the order, in words. */
async function sent(study, order, token) {
  try {
    const reply = await fetch(`studies/${encodeURIComponent(study)}/orders`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(order),
      signal: AbortSignal.timeout(ORDER_LIMIT_MS),
    });
    return reply.ok ? 'told' : (await reply.text()).trim();
  } catch {
    return 'the page is not connected';
  }
}
