package io.cephcsi.driver.http;

import java.nio.ByteBuffer;
import java.security.KeyManagementException;
import java.security.SecureRandom;
import java.util.List;
import java.util.function.BiFunction;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLEngineResult;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSession;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * TLS to a server whose certificate has another name than its URL: that name is sent (SNI) and
 * verified, for all connections. Java's client takes the name from the URL only.
 */
final class NamedServer extends SSLContextSpi {
  private final SSLContext context;
  private final String name;

  private NamedServer(SSLContext context, String name) {
    this.context = context;
    this.name = name;
  }

  /**
   * A context for one server.
   *
   * @param name a DNS name
   */
  static SSLContext of(SSLContext context, String name) {
    return new Context(new NamedServer(context, name), context);
  }

  private static final class Context extends SSLContext {
    Context(NamedServer server, SSLContext context) {
      super(server, context.getProvider(), context.getProtocol());
    }
  }

  @Override
  protected void engineInit(
      KeyManager @Nullable [] keys, TrustManager @Nullable [] trust, @Nullable SecureRandom random)
      throws KeyManagementException {
    throw new KeyManagementException("it is set up already");
  }

  @Override
  protected SSLSocketFactory engineGetSocketFactory() {
    throw new UnsupportedOperationException("only engines are made");
  }

  @Override
  protected SSLServerSocketFactory engineGetServerSocketFactory() {
    throw new UnsupportedOperationException("only engines are made");
  }

  @Override
  protected SSLEngine engineCreateSSLEngine() {
    return engineCreateSSLEngine(name, -1);
  }

  @Override
  protected SSLEngine engineCreateSSLEngine(String host, int port) {
    return new Engine(context.createSSLEngine(name, port), name);
  }

  @Override
  protected SSLSessionContext engineGetServerSessionContext() {
    return context.getServerSessionContext();
  }

  @Override
  protected SSLSessionContext engineGetClientSessionContext() {
    return context.getClientSessionContext();
  }

  @Override
  protected SSLParameters engineGetDefaultSSLParameters() {
    return context.getDefaultSSLParameters();
  }

  @Override
  protected SSLParameters engineGetSupportedSSLParameters() {
    return context.getSupportedSSLParameters();
  }

  /** Does all by another engine, but for the name of the server. */
  private static final class Engine extends SSLEngine {
    private final SSLEngine engine;
    private final String name;

    Engine(SSLEngine engine, String name) {
      super(name, engine.getPeerPort());
      this.engine = engine;
      this.name = name;
    }

    @Override
    public void setSSLParameters(SSLParameters parameters) {
      parameters.setServerNames(List.of(new SNIHostName(name)));
      engine.setSSLParameters(parameters);
    }

    @Override
    public SSLParameters getSSLParameters() {
      return engine.getSSLParameters();
    }

    @Override
    public SSLEngineResult wrap(ByteBuffer[] from, int offset, int length, ByteBuffer to)
        throws SSLException {
      return engine.wrap(from, offset, length, to);
    }

    @Override
    public SSLEngineResult unwrap(ByteBuffer from, ByteBuffer[] to, int offset, int length)
        throws SSLException {
      return engine.unwrap(from, to, offset, length);
    }

    @Override
    public Runnable getDelegatedTask() {
      return engine.getDelegatedTask();
    }

    @Override
    public void closeInbound() throws SSLException {
      engine.closeInbound();
    }

    @Override
    public boolean isInboundDone() {
      return engine.isInboundDone();
    }

    @Override
    public void closeOutbound() {
      engine.closeOutbound();
    }

    @Override
    public boolean isOutboundDone() {
      return engine.isOutboundDone();
    }

    @Override
    public String[] getSupportedCipherSuites() {
      return engine.getSupportedCipherSuites();
    }

    @Override
    public String[] getEnabledCipherSuites() {
      return engine.getEnabledCipherSuites();
    }

    @Override
    public void setEnabledCipherSuites(String[] suites) {
      engine.setEnabledCipherSuites(suites);
    }

    @Override
    public String[] getSupportedProtocols() {
      return engine.getSupportedProtocols();
    }

    @Override
    public String[] getEnabledProtocols() {
      return engine.getEnabledProtocols();
    }

    @Override
    public void setEnabledProtocols(String[] protocols) {
      engine.setEnabledProtocols(protocols);
    }

    @Override
    public SSLSession getSession() {
      return engine.getSession();
    }

    @Override
    public SSLSession getHandshakeSession() {
      return engine.getHandshakeSession();
    }

    @Override
    public void beginHandshake() throws SSLException {
      engine.beginHandshake();
    }

    @Override
    public SSLEngineResult.HandshakeStatus getHandshakeStatus() {
      return engine.getHandshakeStatus();
    }

    @Override
    public void setUseClientMode(boolean mode) {
      engine.setUseClientMode(mode);
    }

    @Override
    public boolean getUseClientMode() {
      return engine.getUseClientMode();
    }

    @Override
    public void setNeedClientAuth(boolean need) {
      engine.setNeedClientAuth(need);
    }

    @Override
    public boolean getNeedClientAuth() {
      return engine.getNeedClientAuth();
    }

    @Override
    public void setWantClientAuth(boolean want) {
      engine.setWantClientAuth(want);
    }

    @Override
    public boolean getWantClientAuth() {
      return engine.getWantClientAuth();
    }

    @Override
    public void setEnableSessionCreation(boolean enable) {
      engine.setEnableSessionCreation(enable);
    }

    @Override
    public boolean getEnableSessionCreation() {
      return engine.getEnableSessionCreation();
    }

    @Override
    public String getApplicationProtocol() {
      return engine.getApplicationProtocol();
    }

    @Override
    public String getHandshakeApplicationProtocol() {
      return engine.getHandshakeApplicationProtocol();
    }

    @Override
    public void setHandshakeApplicationProtocolSelector(
        @Nullable BiFunction<SSLEngine, List<String>, String> selector) {
      engine.setHandshakeApplicationProtocolSelector(selector);
    }

    @Override
    public @Nullable BiFunction<SSLEngine, List<String>, String>
        getHandshakeApplicationProtocolSelector() {
      return engine.getHandshakeApplicationProtocolSelector();
    }
  }
}
