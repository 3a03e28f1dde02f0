# tritune for running beside a Triton server: docker build -t tritune .
FROM node:24.19.0-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df AS package
WORKDIR /source
COPY package.json package-lock.json ./
COPY lab/package.json lab/
# The build needs no install script of any dependency.
RUN npm ci --ignore-scripts
COPY . .
RUN node .ci/build.ts \
  && node .ci/bundle-workflows.ts \
  && mkdir /package \
  && npm pack --ignore-scripts --pack-destination /package

FROM node:24.19.0-bookworm-slim@sha256:a9f5f7c91a432850b2a8a7797adf5eadb6c733ceed61167806cee7ea7fbc29df
WORKDIR /opt/tritune
COPY --from=package /package/tritune-*.tgz /tmp/tritune.tgz
COPY package-lock.json ./
# What would be published, with the dependencies that were tested, and those of a fleet: Temporal's packages, as they are locked.
RUN tar -xzf /tmp/tritune.tgz --strip-components=1 \
  && rm /tmp/tritune.tgz \
  && npm ci --omit=dev --ignore-scripts --workspaces=false \
  && npm install --no-save --save-prod --omit=dev --ignore-scripts --workspaces=false $(node -p "const { packages } = require('./package-lock.json'); Object.keys(require('./package.json').peerDependencies).map((name) => name + '@' + packages['node_modules/' + name].version).join(' ')") \
  && npm cache clean --force \
  && chmod +x dist/cli/main.js dist/cli/perf-analyzer-main.js dist/cli/hey-main.js \
  && ln -s /opt/tritune/dist/cli/main.js /usr/local/bin/tritune \
  && ln -s /opt/tritune/dist/cli/perf-analyzer-main.js /usr/local/bin/tritune-perf-analyzer \
  && ln -s /opt/tritune/dist/cli/hey-main.js /usr/local/bin/tritune-hey \
  && mkdir /runs /state && chown node:node /runs /state
USER node
WORKDIR /runs
ENTRYPOINT ["tritune"]
CMD ["--help"]
